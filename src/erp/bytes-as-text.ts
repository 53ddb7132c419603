import { isUtf8 } from 'node:buffer';

/**
 * ERPs keep comments in BLOBs: bytes that are UTF-8 are text. Others become hexadecimal digits behind a NUL, which no
 * text field accepts, so that such a record is shown to a person instead of being sent with replacement characters.
 */
export function bytesAsText(bytes: Buffer): string {
  return isUtf8(bytes) ? bytes.toString('utf8') : `\0${bytes.toString('hex')}`;
}
