import { type ComponentType, lazy } from 'react';
import type { Me } from '../api/contract';
import { TasksPage } from '../tasks/page'; // example:line
import { isAdmin } from './me';

export interface PageProps {
  /** False once asking would be refused. */
  live: boolean;
  me: Me;
}

interface AppPage {
  path: string;
  /** The path as a pattern, where there are pages behind it. */
  pattern?: string;
  label: string;
  Content: ComponentType<PageProps>;
  adminsOnly?: boolean;
  /** What of the page outlives a new sign-in, as a sentence. */
  kept?: string;
}

/** The pages of who is signed in, in the order of the bar. The first is where they arrive. */
const pages: readonly AppPage[] = [
  // example:begin
  { path: '/', label: 'Tasks', Content: TasksPage, kept: 'What you typed above the list is kept.' },
  // example:end
  { path: '/budgets', label: 'Budgets', Content: lazy(() => import('../budgets/page')) },
  {
    path: '/admin',
    pattern: '/admin/:page?',
    label: 'Admin',
    Content: lazy(() => import('../admin/pages')),
    adminsOnly: true,
  },
];

/** Those of the pages that somebody may see. */
export function pagesOf(me: Me): readonly AppPage[] {
  return pages.filter(({ adminsOnly }) => !adminsOnly || isAdmin(me));
}

/** Where somebody arrives. */
export const home = pages[0] as AppPage;
