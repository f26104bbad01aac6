import type { Action } from '../api/action';
import type { Api } from '../api/api';
import type { RouteId } from '../api/contract';
import { reading } from '../tasks/trial'; // example:line

/** A call that may be made for no other reason than to spend. */
export interface Trial {
  route: RouteId;
  /** The budget of the route that is at its end first. */
  budget: string;
  /** What a press does, as a sentence. */
  words: string;
  send: (api: Api, action: Action) => Promise<unknown>;
}

const asking: Trial = {
  route: 'me.get',
  budget: 'user',
  words: 'Each press asks the server who you are, which spends a unit.',
  send: (api) => api.me(),
};

/** What the budgets page spends on purpose: the last that is named here. */
export const trial: Trial = {
  ...asking,
  ...reading, // example:line
};
