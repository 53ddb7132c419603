import { z } from 'zod';
import { acknowledgedText } from './acknowledged-text.js';

/** What the service calls a record. Digits that JavaScript would round arrive as text by `parseJson`, so that an id keeps all of them. */
export const acknowledgedId = z.union([acknowledgedText, z.number().int().safe().transform(String)]);
