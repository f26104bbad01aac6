import type { LimitStatus } from '../api/contract';
import { budgets } from '../contract/budgets';

// What the budgets are called on the page. One that is new, or a fork's own, is called by its name.
const labels: Record<string, string> = {
  edge: 'Your address',
  'edge.caller': 'At the door',
  user: 'All your requests',
  org: 'Your organisation',
  // example:begin
  'tasks.write': 'Changing tasks',
  'tasks.parse': 'Reading free text',
  'tasks.parse.burst': 'Reading, each second',
  'tasks.export': 'Exports',
  'reports.create': 'Reports',
  'ai.tokens': 'Model tokens',
  // example:end
  'auth.login': 'Signing in',
  'auth.refresh': 'Renewing the session',
  admin: 'Administration',
  'admin.threaddump': 'Stacks of the server',
  'admin.heapdump': 'Heap of the server',
};

export function budgetLabel(name: string): string {
  return labels[name] ?? name;
}

const labelsOfOthers: Record<string, string> = {
  edge: 'The address',
  user: 'All requests',
  org: 'The organisation',
};

/** As budgetLabel, where the reader is not whose budget it is. */
export function budgetLabelOfOthers(name: string): string {
  return labelsOfOthers[name] ?? budgetLabel(name);
}

/** Whether a budget is only ever charged for the work of administrators. */
export function isForAdmins(name: string): boolean {
  return name === 'admin' || name.startsWith('admin.');
}

/** Why a budget exists; empty for one that this build does not know. */
export function budgetReason(name: string): string {
  return budgets.find((budget) => budget.name === name)?.description ?? '';
}

type Allowance = Pick<LimitStatus, 'limit' | 'windowSeconds'> & { refillPerSecond?: number | undefined };

/** An allowance as people read it: 10 a minute; 600 at once, then 10/s. */
export function allowance({ limit, windowSeconds, refillPerSecond }: Allowance): string {
  if (limit === null) return 'unlimited';
  if (refillPerSecond) return `${number(limit)} at once, then ${number(refillPerSecond)}/s`;
  return windowSeconds > 0 ? `${number(limit)} ${span(windowSeconds)}` : number(limit);
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

const sourcesOfOthers: Record<string, string> = {
  ...sources,
  plan: 'from the plan',
  organisation: 'set for the organisation',
  user: 'set for this person',
};

/** As sourceLabel, where the reader is not whose budget it is. */
export function sourceLabelOfOthers(source: string): string {
  return sourcesOfOthers[source] ?? source;
}

/** The size of a file as people read it. */
export function fileSize(bytes: number): string {
  return `${number(Math.ceil(bytes / 1000))} kB`;
}

const numbers = new Intl.NumberFormat();

export function number(value: number): string {
  return numbers.format(value);
}
