import { writeFileSync } from 'node:fs';
import { printSettingsReference } from './print-settings-reference.js';

/** `npm run docs`, from the project's folder. */
writeFileSync('docs/settings.md', printSettingsReference());
