import { type ReactNode, useState } from 'react';
import { useStandings } from '../app/context';
import { Notice } from '../app/notice';
import { saveFile } from '../app/savefile';
import { Gauges } from '../budgets/gauges';
import { useLimits } from '../budgets/limits';
import { allowance, fileSize, number, perWhom } from '../budgets/words';
import { budgets } from '../contract/budgets';
import type { AdminApi } from './api';
import { ReasonDialog } from './dialog';

/** What goes on inside the process that answers: where its goroutines are, and where its memory was allocated. */
export function ProcessPage() {
  useLimits();
  return (
    <div className="columns process">
      <StacksPanel />
      <HeapPanel />
    </div>
  );
}

function StacksPanel() {
  const [stacks, setStacks] = useState<string | null>(null);
  return (
    <Panel
      title="Stacks"
      what="Where each goroutine is, as text. For a process that hangs, or does more than it should."
      budget="admin.threaddump"
      action="Get the stacks"
      load={async (admin, reason) => {
        const text = await admin.threaddump(reason);
        setStacks(text);
        return new File([text], 'goroutines.txt', { type: 'text/plain' });
      }}
    >
      {stacks && (
        <details>
          <summary>Read {number(goroutines(stacks))} goroutines here</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be within reach of a keyboard */}
          <section className="stacks" tabIndex={0} aria-label="Stacks, as text">
            <pre>{stacks}</pre>
          </section>
        </details>
      )}
    </Panel>
  );
}

function HeapPanel() {
  return (
    <Panel
      title="Heap"
      what="Where memory was allocated, and not what is in it. go tool pprof reads the file. Making it collects garbage first."
      budget="admin.heapdump"
      action="Get the heap profile"
      load={async (admin, reason) => new File([await admin.heapdump(reason)], 'heap.pb.gz')}
    />
  );
}

interface Props {
  title: string;
  what: string;
  budget: 'admin.threaddump' | 'admin.heapdump';
  action: string;
  load: (admin: AdminApi, reason: string) => Promise<File>;
  children?: ReactNode;
}

// The budget's name is the route's.
function Panel({ title, what, budget, action, load, children }: Props) {
  const [asking, setAsking] = useState(false);
  const [saved, setSaved] = useState<File | null>(null);
  const standings = useStandings().filter(({ name }) => name === budget);
  const run = async (admin: AdminApi, reason: string) => {
    const file = await load(admin, reason);
    saveFile(file, file.name);
    setSaved(file);
  };
  return (
    <section className="panel" aria-label={title}>
      <h2>{title}</h2>
      <p className="quiet">{what}</p>
      {standings.length > 0 ? <Gauges standings={standings} /> : <Allowance of={budget} />}
      <button type="button" className="button primary start" onClick={() => setAsking(true)}>
        {action}
      </button>
      {saved && (
        <Notice>
          <p>
            <code>{saved.name}</code> is saved, {fileSize(saved.size)}.
          </p>
        </Notice>
      )}
      {children}
      {asking && (
        <ReasonDialog
          title={action}
          description="It is of the process that answers this call. That it was taken stands in the audit, with your name."
          action={action}
          route={budget}
          run={run}
          onClose={() => setAsking(false)}
        />
      )}
    </section>
  );
}

// What everybody shares is in nobody's own list of budgets.
function Allowance({ of }: { of: Props['budget'] }) {
  const row = budgets.find(({ name }) => name === of);
  return row ? (
    <p>
      <b>{allowance(row)}</b> for {perWhom(row.per)}
    </p>
  ) : null;
}

function goroutines(stacks: string): number {
  return stacks.match(/^goroutine \d+ /gm)?.length ?? 0;
}
