// Short names for the contract's generated types of tasks.
import type { components } from '../contract/schema';

type Schemas = components['schemas'];

export type Task = Schemas['Task'];
export type TaskCreate = Schemas['TaskCreate'];
export type TaskUpdate = Schemas['TaskUpdate'];
export type TaskList = Schemas['TaskList'];
export type Draft = Schemas['Draft'];
export type ParseResult = Schemas['ParseResult'];
export type Report = Schemas['Report'];
export type Priority = Task['priority'];
