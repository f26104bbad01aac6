// Short names for the contract's generated types.
import type { budgets, charges } from '../contract/budgets';
import type { components } from '../contract/schema';

type Schemas = components['schemas'];

export type Me = Schemas['Me'];
export type Limits = Schemas['Limits'];
export type LimitStatus = Schemas['LimitStatus'];
export type Problem = Schemas['Problem'];
export type FieldError = Schemas['FieldError'];

/** The id of a route, such as me.get. */
export type RouteId = keyof typeof charges;

/** One row of the table of budgets. */
export type Budget = (typeof budgets)[number];
