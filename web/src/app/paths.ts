/** The admin pages behind /admin, by the last part of their path. */
export const adminPages = ['overrides', 'reports', 'throttled', 'limiter', 'people', 'process', 'audit'] as const;

export type AdminPage = (typeof adminPages)[number];

/** Every path that shows a page of its own: the server answers each with this app, so that a reload works. */
export const pagePaths: readonly string[] = [
  '/',
  '/budgets',
  '/docs',
  '/admin',
  ...adminPages.map((name) => `/admin/${name}`),
];
