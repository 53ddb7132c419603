import { createHash } from 'node:crypto';

export const deskPort = 8788;
export const deskToken = 'a-token-of-somebody-who-acts';

/** The line of the users file. A script needs no password, which takes long to compute. */
export const deskUser = `somebody:act:sha256$${createHash('sha256').update(deskToken).digest('base64url')}\n`;
