/** Why a change to an adopted record waits. The same words for all, so that lists can count them. */
export const heldAsAdopted =
  'the service had it already, with other values: nothing is written over before somebody has looked';
