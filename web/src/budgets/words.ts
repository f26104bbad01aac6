import type { LimitStatus } from '../api/contract';
import { budgets } from '../contract/budgets';

// What the budgets are called on the page. One that is new, or a fork's own, is called by its name.
const labels: Record<string, string> = {
  edge: 'Your address',
  'edge.caller': 'At the door',
  user: 'All your requests',
  org: 'Your organisation',
  'tasks.write': 'Changing tasks',
  'tasks.parse': 'Reading free text',
  'tasks.parse.burst': 'Reading, each second',
  'ai.tokens': 'The model, in tokens',
  'tasks.export': 'Exports',
  'reports.create': 'Reports',
  'auth.login': 'Signing in',
  'auth.refresh': 'Renewing the session',
};

export function budgetLabel(name: string): string {
  return labels[name] ?? name;
}

/** Why a budget exists; empty for one that this build does not know. */
export function budgetReason(name: string): string {
  return budgets.find((budget) => budget.name === name)?.description ?? '';
}

type Allowance = Pick<LimitStatus, 'limit' | 'windowSeconds'> & { refillPerSecond?: number | undefined };

/** An allowance as people read it: 10 a minute; 600 at once, then 10 a second. */
export function allowance({ limit, windowSeconds, refillPerSecond }: Allowance): string {
  if (limit === null) return 'unlimited';
  if (refillPerSecond) return `${number(limit)} at once, then ${number(refillPerSecond)} a second`;
  return `${number(limit)} ${span(windowSeconds)}`;
}

function span(seconds: number): string {
  const names: Record<number, string> = { 1: 'a second', 60: 'a minute', 3600: 'an hour', 86400: 'a day' };
  if (names[seconds]) return names[seconds];
  return seconds % 60 === 0 ? `in ${seconds / 60} min` : `in ${seconds} s`;
}

const whose: Record<string, string> = {
  address: 'each address',
  user: 'each person',
  organisation: 'each organisation',
  session: 'each session',
  global: 'everyone together',
};

export function perWhom(per: LimitStatus['per']): string {
  return whose[per] ?? `each ${per}`; // A fork's own kind of key.
}

const sources: Record<string, string> = {
  table: 'default',
  file: 'this deployment',
  plan: 'your plan',
  organisation: 'your organisation',
  user: 'set for you',
};

/** Where a budget's numbers come from. */
export function sourceLabel(source: string): string {
  return sources[source] ?? source;
}

const numbers = new Intl.NumberFormat();

export function number(value: number): string {
  return numbers.format(value);
}
