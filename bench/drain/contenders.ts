import type { Contender } from './task.js';

/** Loaded one by one, so that none carries the libraries of another. */
export const contenders: Record<string, () => Promise<Contender>> = {
  undici: async () => (await import('./yardsticks.js')).undici,
  axios: async () => (await import('./yardsticks.js')).axios,
  'waybill-sqlite': async () => (await import('./waybill.js')).waybill('sqlite'),
  // While ten pages of its desk are open.
  'waybill-desk': async () => (await import('./waybill.js')).waybill('sqlite', 10),
  'waybill-mariadb': async () => (await import('./waybill.js')).waybill('mysql'),
  'waybill-postgres': async () => (await import('./waybill.js')).waybill('postgres'),
  bullmq: async () => (await import('./yardsticks.js')).bullmq,
  'pg-boss': async () => (await import('./yardsticks.js')).pgBoss,
};

export const contenderNames = Object.keys(contenders);
