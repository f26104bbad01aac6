import { Component, type ReactNode, Suspense } from 'react';
import { Notice } from './notice';

/** A whole page that is loaded when it is first shown. */
export function Later({ children }: { children: ReactNode }) {
  return (
    <Boundary page>
      <Suspense
        fallback={
          <main>
            <p className="quiet">Loading…</p>
          </main>
        }
      >
        {children}
      </Suspense>
    </Boundary>
  );
}

/** Something small, such as a dialog, that is loaded when it is first shown. */
export function LaterPart({ children }: { children: ReactNode }) {
  return (
    <Boundary>
      <Suspense fallback={null}>{children}</Suspense>
    </Boundary>
  );
}

interface BoundaryProps {
  /** Whether a whole page is in it, or a part of one. */
  page?: boolean;
  children: ReactNode;
}

/**
 * What fails to load or to render is a notice with a way out, and not a blank page. The usual cause is a new version of
 * the server, whose files have other names: to load the page anew is the cure.
 */
export class Boundary extends Component<BoundaryProps, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override render(): ReactNode {
    if (!this.state.failed) return this.props.children;
    return this.props.page ? (
      <main>
        <Failed />
      </main>
    ) : (
      <Failed />
    );
  }
}

function Failed() {
  return (
    <Notice tone="fault">
      <p>This part of the page could not be loaded. The server may have a new version of it, or be out of reach.</p>
      <div className="row">
        <button type="button" className="button" onClick={() => globalThis.location.reload()}>
          Load the page anew
        </button>
      </div>
    </Notice>
  );
}
