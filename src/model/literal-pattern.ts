/**
 * Pattern that matches just this text, with the flag `u` or without. Pure.
 * With `u` a pattern may escape only what has a meaning: `\-` is an error there, not a hyphen.
 */
export const literalPattern = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
