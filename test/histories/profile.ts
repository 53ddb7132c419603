/** The service's rules, and the settings about them. */
export const limit = { requests: 2, windowMs: 1_000 };
export const keyLifetimeMs = 24 * 3_600_000;
