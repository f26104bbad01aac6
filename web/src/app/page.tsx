import { type ReactNode, useEffect, useRef } from 'react';
import { useLocation } from 'wouter';

/** What the tab is called where no page has a name of its own. */
export const product = 'Gatehouse';

interface Props {
  title: string;
  /** Whether the heading is for ears only, where the page's own parts say it for eyes. */
  quietly?: boolean;
  className?: string;
  children: ReactNode;
}

/** One page of the app: it names the tab, and takes the focus when somebody comes from another page. */
export function Page({ title, quietly = false, className, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  useTitle(title);
  useFocusOnArrival(heading);
  return (
    <main className={className}>
      <h1 ref={heading} tabIndex={-1} className={quietly ? 'hidden' : undefined}>
        {title}
      </h1>
      {children}
    </main>
  );
}

/** Names the tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title === product ? product : `${title} · ${product}`;
  }, [title]);
}

// The path that was shown last: the first page of a visit leaves the focus where the browser has it.
let shown: string | null = null;

function useFocusOnArrival(heading: React.RefObject<HTMLElement | null>): void {
  const [path] = useLocation();
  useEffect(() => {
    if (shown !== null && shown !== path) {
      heading.current?.focus({ preventScroll: true });
      globalThis.scrollTo(0, 0);
    }
    shown = path;
  }, [path, heading]);
}
