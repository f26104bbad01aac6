import { useInfiniteQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { RouteId } from '../api/contract';
import { useBlock } from '../app/context';
import { QueryNotice } from '../app/notice';
import { wait } from '../app/time';

interface Page<T> {
  items: T[];
  nextCursor?: string;
}

interface Props<T> {
  route: RouteId;
  load: (cursor: string | null) => Promise<Page<T>>;
  keyOf: (item: T) => string;
  /** What is said where there is none. */
  empty: string;
  children: (item: T) => ReactNode;
}

/** A list of the server's, page by page. */
export function PagedList<T>({ route, load, keyOf, empty, children }: Props<T>) {
  const query = useInfiniteQuery({
    queryKey: ['admin', route],
    queryFn: ({ pageParam }) => load(pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor ?? null,
  });
  const items = query.data?.pages.flatMap((page) => page.items) ?? [];
  const retry = () => (query.isFetchNextPageError ? query.fetchNextPage() : query.refetch());
  return (
    <>
      <QueryNotice query={query} onRetry={retry} />
      {query.isPending && <p className="quiet">Loading…</p>}
      {query.isSuccess && items.length === 0 && <p className="empty">{empty}</p>}
      {items.length > 0 && (
        <ul className="records">
          {items.map((item) => (
            <li key={keyOf(item)} className="record">
              {children(item)}
            </li>
          ))}
        </ul>
      )}
      {query.hasNextPage && (
        <MoreButton route={route} busy={query.isFetchingNextPage} onClick={() => query.fetchNextPage()} />
      )}
    </>
  );
}

function MoreButton({ route, busy, onClick }: { route: RouteId; busy: boolean; onClick: () => void }) {
  const block = useBlock(route);
  return (
    <button type="button" className="button more" disabled={busy || block !== null} onClick={onClick}>
      {block ? `More in ${wait(block.seconds)}` : busy ? 'Loading…' : 'Show more'}
    </button>
  );
}

interface FactsProps {
  facts: Record<string, ReactNode>;
  /** Whether the records of a list have the same facts, so that they stand below each other where there is room. */
  aligned?: boolean;
}

/** What is to be known of a record, each with its name; what is null is left out. */
export function Facts({ facts, aligned = false }: FactsProps) {
  return (
    <dl className={aligned ? 'facts-list aligned' : 'facts-list'}>
      {Object.entries(facts).map(
        ([name, value]) =>
          value !== null &&
          value !== undefined && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** A point in time, to the minute, in the reader's own zone. */
export function When({ at }: { at: string }) {
  return <time dateTime={at}>{whenText(at)}</time>;
}

/** The words of When. */
export function whenText(at: string): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
}
