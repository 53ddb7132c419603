import { defaultSource, type Entity, sourceOf } from '../model/record.js';
import { ErpError, type ErpPage, type ErpReader, type Presence, type ReadRow, type RowFilter } from './erp-reader.js';

/**
 * Several sources as one reader: what is asked by keys goes to the source of each key, counts are sums, and a sweep
 * reads one source after the other. Questions about one ERP alone (its changes, its end, its identity) go to the
 * default source: capture asks each source by itself.
 * @param bySource the default one first
 */
export function allSources(bySource: ReadonlyMap<string, ErpReader>): ErpReader {
  const own = bySource.get(defaultSource) as ErpReader;
  const all = [...bySource];

  /** Asks each source for those of the keys that are its own. */
  const byKey = async <T>(keys: readonly string[], ask: (reader: ErpReader, keys: string[]) => Promise<T>) => {
    const answers: { keys: string[]; answer: T }[] = [];
    for (const [name, reader] of all) {
      const asked = keys.filter((key) => sourceOf(key) === name);
      if (asked.length > 0) answers.push({ keys: asked, answer: await ask(reader, asked) });
    }
    return answers;
  };
  const sum = async (count: (reader: ErpReader) => Promise<number>) => {
    let total = 0;
    for (const [, reader] of all) total += await count(reader);
    return total;
  };

  return {
    ...own,
    bySource,
    async check() {
      const failed: unknown[] = [];
      for (const [, reader] of all) await reader.check().catch((error: unknown) => failed.push(error));
      const isAway = (error: unknown) => error instanceof ErpError && error.kind === 'unreachable';
      // A wrong mapping shows also where another source is away.
      const worst = failed.find((error) => !isAway(error)) ?? failed[0];
      if (worst !== undefined) throw worst;
    },
    async sweep<E extends Entity>(entity: E, afterKey: string[] | null, limit: number, filter?: RowFilter) {
      const [name = defaultSource, ...after] = afterKey ?? [];
      const at = all.findIndex(([other]) => other === name);
      const [, reader] = all[at] as (typeof all)[number];
      const keys = filter?.keys?.filter((key) => sourceOf(key) === name);
      const nothing: ErpPage<ReadRow<E>> = { rows: [], customers: [], last: null, more: false };
      const page =
        keys?.length === 0
          ? nothing
          : await reader.sweep(entity, after.length === 0 ? null : after, limit, { ...filter, ...(keys && { keys }) });
      if (page.more && page.last) return { ...page, last: { ...page.last, key: [name, ...page.last.key] } };
      const next = all[at + 1]?.[0];
      return next === undefined ? page : { ...page, more: true, last: { changedAt: '', key: [next] } };
    },
    async presence(entity, keys, asksExistence) {
      const answers = await byKey(keys, (reader, asked) => reader.presence(entity, asked, asksExistence));
      const isAsked = answers.some(({ answer }) => answer.existing !== null);
      const isOfASource = (key: string) => bySource.has(sourceOf(key));
      // A key that can't be asked for is not known to be absent.
      const there = [
        ...keys.filter((key) => !isOfASource(key)),
        ...answers.flatMap(({ keys: asked, answer }) => [...(answer.existing ?? asked)]),
      ];
      const left = answers.flatMap(({ answer }) => [...(answer.left ?? [])]);
      const presence: Presence = {
        existing: isAsked ? new Set(there) : null,
        answeredBy: new Map(answers.flatMap(({ answer }) => [...(answer.answeredBy ?? [])])),
        cancelled: new Set(answers.flatMap(({ answer }) => [...answer.cancelled])),
      };
      return answers.some(({ answer }) => answer.left) ? { ...presence, left: new Map(left) } : presence;
    },
    async eligible(entity, keys) {
      const answers = await byKey(keys, (reader, asked) => reader.eligible(entity, asked));
      const ofNoSource = keys.filter((key) => !bySource.has(sourceOf(key)));
      return new Set([...ofNoSource, ...answers.flatMap(({ answer }) => [...answer])]);
    },
    namesakes: async (entity, names) => {
      const ofKeys = (keys: readonly string[]) => new Map([...names].filter(([key]) => keys.includes(key)));
      const answers = await byKey([...names.keys()], (reader, keys) => reader.namesakes(entity, ofKeys(keys)));
      return new Map(answers.flatMap(({ answer }) => [...answer]));
    },
    equalKeys: async (entity, keys) =>
      new Map(
        (await byKey(keys, (reader, asked) => reader.equalKeys(entity, asked))).flatMap(({ answer }) => [...answer]),
      ),
    standing: async (entity, keys) =>
      (await byKey(keys, (reader, asked) => reader.standing(entity, asked))).flatMap(({ answer }) => answer),
    count: (entity, filter) => {
      const keys = filter?.keys;
      return keys === undefined
        ? sum((reader) => reader.count(entity, filter))
        : byKey(keys, (reader, asked) => reader.count(entity, { ...filter, keys: asked })).then((answers) =>
            answers.reduce((total, { answer }) => total + answer, 0),
          );
    },
    countWithoutKey: (entity) => sum((reader) => reader.countWithoutKey(entity)),
    async countExcludedByStartFrom() {
      const counts = { older: 0, withoutStart: 0 };
      for (const [, reader] of all) {
        const { older, withoutStart } = await reader.countExcludedByStartFrom();
        counts.older += older;
        counts.withoutStart += withoutStart;
      }
      return counts;
    },
    async close() {
      for (const [, reader] of all) await reader.close();
    },
  };
}
