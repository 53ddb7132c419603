import { explainRecord } from '../../src/operator/explain-record.js';
import { describeStory } from '../../src/telling/describe-story.js';

type Asked = Parameters<typeof explainRecord>;

/** A record's story with its sentences, as `waybill explain` tells it. */
export async function explained(context: Asked[0], record: Asked[1], time: (ms: number) => string) {
  const explanation = await explainRecord(context, record);
  return { ...explanation, words: describeStory(explanation.story, { ...explanation.circumstances, time }) };
}
