import type { AllFacts, CommonFacts } from '../model/facts/fact.js';
import { openOutside } from '../model/outside.js';
import { actionWords } from './en/actions.js';
import { alertWords } from './en/alerts.js';
import { doctorWords } from './en/doctor.js';
import { listWords } from './en/lists.js';
import { probeWords } from './en/probe.js';
import { reconcileWords } from './en/reconcile.js';
import { recordWords } from './en/records.js';
import { recoveryWords } from './en/recovery.js';
import { sendingWords } from './en/sending.js';
import { serviceWords } from './en/service.js';
import { workWords } from './en/work.js';
import type { WordsFor } from './sentence.js';

const commonWords: WordsFor<CommonFacts> = {
  legacy: ({ text }) => openOutside(text),
};

/** English words for every fact. */
export const en: WordsFor<AllFacts> = {
  ...commonWords,
  ...serviceWords,
  ...sendingWords,
  ...recordWords,
  ...actionWords,
  ...workWords,
  ...alertWords,
  ...listWords,
  ...reconcileWords,
  ...recoveryWords,
  ...probeWords,
  ...doctorWords,
};
