/** What the admin pages are called, by the last part of their path; the first is at /admin itself. */
export const adminPages = {
  '': 'Organisations',
  overrides: 'Overrides',
  people: 'Explain',
  throttled: 'Throttled',
  reports: 'Reports', // example:line
  limiter: 'Limiter',
  process: 'Process',
  audit: 'Audit',
} as const;

export type AdminPage = keyof typeof adminPages;

export const adminPath = (name: string): string => (name === '' ? '/admin' : `/admin/${name}`);

/** Every path that shows a page of its own: the server answers each with this app, so that a reload works. */
export const pagePaths: readonly string[] = ['/', '/budgets', '/docs', ...Object.keys(adminPages).map(adminPath)];
