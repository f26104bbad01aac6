import { useEffect, useState } from 'react';
import { now } from '../api/clock';

/** The whole seconds until a time, rounded up; 0 when it has come, or for null. */
export function secondsUntil(until: number | null, at: number): number {
  return until === null ? 0 : Math.max(0, Math.ceil((until - at) / 1000));
}

/** secondsUntil, kept current: it renders again when the number changes, and not while there is nothing to wait for. */
export function useSecondsUntil(until: number | null): number {
  const [, setAt] = useState(0);
  const at = now();
  const seconds = secondsUntil(until, at);
  useEffect(() => {
    if (until === null || seconds === 0) return;
    const untilNext = until - now() - (seconds - 1) * 1000;
    const timer = setTimeout(() => setAt(now()), Math.max(untilNext, 0) + 5); // A little late, so as never to say the old number twice.
    return () => clearTimeout(timer);
  }, [until, seconds]);
  return seconds;
}

/** A wait as people say it: 8 s, 1 min 20 s, 3 h 5 min. */
export function wait(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return parts(Math.floor(seconds / 60), 'min', seconds % 60, 's');
  return parts(Math.floor(seconds / 3600), 'h', Math.floor((seconds % 3600) / 60), 'min');
}

function parts(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

/** An instant as an input of type datetime-local wants it. */
export function localInput(instantText: string | null): string {
  if (instantText === null) return '';
  const at = new Date(instantText);
  const two = (n: number) => String(n).padStart(2, '0');
  const day = `${String(at.getFullYear()).padStart(4, '0')}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}`;
}
