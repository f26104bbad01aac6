import type { Trial } from '../budgets/trial';
import { TasksApi } from './api';
import { timeZone } from './entry';

/** Reads a short text, of which nothing is saved. */
export const reading: Trial = {
  route: 'tasks.parse',
  budget: 'tasks.parse',
  words: 'Each press has one short text read, which spends a unit.',
  send: (api, action) => new TasksApi(api).parse(action, 'Try the limit', timeZone()),
};
