import { expect, test } from 'vitest';
import { History } from './history';

class Memory {
  readonly values = new Map<string, string>();
  getItem = (key: string) => this.values.get(key) ?? null;
  setItem = (key: string, value: string) => void this.values.set(key, value);
}

const minute = 60_000;

function historyOf(person: string, storage: Memory): History {
  const history = new History(storage, () => 0);
  history.belongTo(person);
  return history;
}

test('counts by minute and by outcome, and keeps an hour', () => {
  let now = 100 * minute;
  const history = new History(new Memory(), () => now);
  history.record('admitted');
  history.record('admitted');
  now += minute;
  history.record('local');
  expect(history.snapshot()).toEqual([
    { minute: 100, admitted: 2, refused: 0, local: 0 },
    { minute: 101, admitted: 0, refused: 0, local: 1 },
  ]);
  now += 59 * minute;
  history.record('refused');
  expect(history.snapshot().map((row) => row.minute)).toEqual([101, 160]);
});

test('outlives the page, and is shared by tabs', () => {
  const storage = new Memory();
  const [one, other] = [historyOf('alice', storage), historyOf('alice', storage)];
  one.record('admitted');
  other.record('admitted');
  expect(historyOf('alice', storage).snapshot()).toEqual([{ minute: 0, admitted: 2, refused: 0, local: 0 }]);
});

test('is one person’s, with what was recorded before it was known whose it is', () => {
  const storage = new Memory();
  historyOf('alice', storage).record('refused');
  const carol = new History(storage, () => 0);
  carol.record('admitted');
  carol.belongTo('carol');
  expect(carol.snapshot()).toEqual([{ minute: 0, admitted: 1, refused: 0, local: 0 }]);
  const alice = new History(storage, () => 0);
  alice.record('admitted');
  alice.belongTo('alice');
  expect(alice.snapshot()).toEqual([{ minute: 0, admitted: 1, refused: 1, local: 0 }]);
});

test.each(['not JSON', '{"a":1}', '[1, null, {"minute": "x"}]'])(
  'starts afresh from what it does not understand: %s',
  (stored) => {
    const storage = new Memory();
    storage.setItem('calls-by-minute alice', stored);
    expect(historyOf('alice', storage).snapshot()).toEqual([]);
  },
);

test('goes on where nothing may be kept', () => {
  const forbidden = {
    getItem: () => {
      throw new DOMException('no', 'SecurityError');
    },
    setItem: () => {
      throw new DOMException('full', 'QuotaExceededError');
    },
  };
  const history = new History(forbidden, () => 0);
  history.belongTo('alice');
  let told = 0;
  history.subscribe(() => told++);
  history.record('refused');
  history.record('refused');
  expect(history.snapshot()).toEqual([{ minute: 0, admitted: 0, refused: 2, local: 0 }]);
  expect(told).toBe(2);
});
