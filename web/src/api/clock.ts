/** Milliseconds on a clock that nobody can set: all waits are measured on it. It means nothing outside this page. */
export const now = (): number => performance.now();
