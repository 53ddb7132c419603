/** What the service allows, and what the settings say of it. */
export const limit = { requests: 2, windowMs: 1_000 };
export const keyLifetimeMs = 24 * 3_600_000;
