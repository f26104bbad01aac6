import type { Me } from '../api/contract';

/** Whether somebody may see the admin pages. The server asks the same of each call. */
export function isAdmin(me: Me | null): boolean {
  return me?.roles.includes('admin') ?? false;
}
