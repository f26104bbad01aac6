import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { Api } from '../api/api';
import { useApi } from '../app/context';
import type { components } from '../contract/schema';

type Schemas = components['schemas'];

export type Organisation = Schemas['Organisation'];
export type Plan = Schemas['Plan'];
export type Override = Schemas['Override'];
export type OverridePut = Schemas['OverridePut'];
export type AuditEntry = Schemas['AuditEntry'];
export type ThrottledKey = Schemas['ThrottledKey'];
export type ShadowedKey = Schemas['ShadowedKey'];
export type LimiterStatus = Schemas['LimiterStatus'];
export type Explanation = Schemas['Explanation'];
export type ExplainedBudget = Schemas['ExplainedBudget'];
export type PersonRef = Schemas['PersonRef'];

/** Whose budgets can be explained. */
export const explainedScopes = ['user', 'organisation', 'address', 'session', 'global'] as const;

export type ExplainedScope = (typeof explainedScopes)[number];

/** Whose budgets can be overridden; of those that apply the first wins. */
export const overrideScopes = ['user', 'organisation', 'plan'] as const;

export type OverrideScope = (typeof overrideScopes)[number];

/** What an override is for: a budget of somebody. */
export interface Target {
  scope: OverrideScope;
  id: string;
  budget: string;
}

/** The administrators' calls. They throw as those of Api do. */
export class AdminApi {
  constructor(private readonly api: Api) {}

  organisations = (cursor: string | null) =>
    this.api.send('admin.orgs.list', (client) => client.GET('/api/v1/admin/orgs', page(cursor)));

  plans = () => this.api.send('admin.plans.list', (client) => client.GET('/api/v1/admin/plans'));

  changePlan = (id: string, plan: string, reason: string) =>
    this.api.send('admin.orgs.plan', (client) =>
      client.PUT('/api/v1/admin/orgs/{id}/plan', { params: { path: { id } }, body: { plan, reason } }),
    );

  overrides = (cursor: string | null) =>
    this.api.send('admin.overrides.list', (client) => client.GET('/api/v1/admin/overrides', page(cursor)));

  putOverride = (path: Target, body: OverridePut) =>
    this.api.send('admin.overrides.put', (client) =>
      client.PUT('/api/v1/admin/overrides/{scope}/{id}/{budget}', { params: { path }, body }),
    );

  deleteOverride = (path: Target, reason: string) =>
    this.api.send('admin.overrides.delete', (client) =>
      client.DELETE('/api/v1/admin/overrides/{scope}/{id}/{budget}', { params: { path, query: { reason } } }),
    );

  throttled = () => this.api.send('admin.throttled', (client) => client.GET('/api/v1/admin/throttled'));

  limiter = () => this.api.send('admin.limiter', (client) => client.GET('/api/v1/admin/limiter'));

  explain = (scope: ExplainedScope, id: string) =>
    this.api.send('admin.limits.explain', (client) =>
      client.GET('/api/v1/admin/limits/{scope}/{id}', { params: { path: { scope, id } } }),
    );

  reset = (scope: ExplainedScope, id: string, budget: string, reason: string) =>
    this.api.send('admin.limits.reset', (client) =>
      client.DELETE('/api/v1/admin/limits/{scope}/{id}/{budget}', {
        params: { path: { scope, id, budget }, query: { reason } },
      }),
    );

  revoke = (id: string, reason: string) =>
    this.api.send('admin.users.revoke', (client) =>
      client.POST('/api/v1/admin/users/{id}/revoke', { params: { path: { id } }, body: { reason } }),
    );

  threaddump = (reason: string) =>
    this.api.send('admin.threaddump', (client) =>
      client.GET('/api/v1/admin/threaddump', { params: { query: { reason } }, parseAs: 'text' }),
    );

  heapdump = (reason: string) =>
    this.api.send('admin.heapdump', (client) =>
      client.POST('/api/v1/admin/heapdump', { params: { query: { reason } }, parseAs: 'blob' }),
    );

  audit = (cursor: string | null) =>
    this.api.send('admin.audit.list', (client) => client.GET('/api/v1/admin/audit', page(cursor)));
}

/** What a page of a list is asked for with. */
export function page(cursor: string | null) {
  return { params: { query: { limit: 25, ...(cursor ? { cursor } : {}) } } };
}

export function useAdmin(): AdminApi {
  const api = useApi();
  return useMemo(() => new AdminApi(api), [api]);
}

/** A change that makes what the admin pages show old. */
export function useChange<V>(change: (admin: AdminApi, value: V) => Promise<unknown>, onDone: () => void) {
  const admin = useAdmin();
  const client = useQueryClient();
  return useMutation({
    mutationFn: (value: V) => change(admin, value),
    onSuccess: async () => {
      onDone();
      await client.invalidateQueries({ queryKey: ['admin'] });
    },
  });
}
