import { Link } from 'wouter';
import type { ExplainedScope, PersonRef } from './api';

/** Where the budgets of somebody are explained. */
export function explainHref(scope: ExplainedScope, id: string): string {
  return `/admin/people?${new URLSearchParams({ scope, id })}`;
}

/** A person by name, or by what else is known of them; a link to their budgets. */
export function Person({ person }: { person: PersonRef }) {
  return <Link href={explainHref('user', person.id)}>{person.name || person.email || person.id}</Link>;
}
