import type { AnswerPattern } from '../config/answer-settings.js';

/** Whether an answer is one of those that the profile names. Pure. */
export function matchesAnswer(
  patterns: readonly AnswerPattern[],
  status: number,
  code: string | null,
  body: string,
): boolean {
  return patterns.some(
    (pattern) =>
      pattern.status === status &&
      (pattern.code === undefined || pattern.code === code) &&
      // Services write in_progress, in-progress or "in progress"; `.` in the default patterns stands for any of them.
      (pattern.pattern === undefined || new RegExp(pattern.pattern, 'i').test(body.slice(0, 10_000))),
  );
}
