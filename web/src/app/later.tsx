import { Component, type ReactNode, Suspense } from 'react';
import { Notice } from './notice';

/** A part of the page that is loaded when it is first shown. */
export function Later({ children }: { children: ReactNode }) {
  return (
    <Boundary>
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

// What fails to load or to render is a notice with a way out, and not a blank page. The usual cause is a new version of
// the server, whose files have other names: to load the page anew is the cure.
class Boundary extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override render(): ReactNode {
    if (!this.state.failed) return this.props.children;
    return (
      <main>
        <Notice tone="fault">
          <p>This part of the page could not be loaded. The server may have a new version of it, or be out of reach.</p>
          <div className="row">
            <button type="button" className="button" onClick={() => globalThis.location.reload()}>
              Load the page anew
            </button>
          </div>
        </Notice>
      </main>
    );
  }
}
