const strokes = {
  edit: 'M4 20h4L19.5 8.5l-4-4L4 16zM13 7l4 4',
  report: 'M6 21V4h11l-2.5 4L17 12H6',
  delete: 'M4.5 7h15M10 7V4.5h4V7M6.5 7l1 13h9l1-13',
} as const;

/** A drawing beside words, or instead of them where there is no room: the words are said in either case. */
export function Icon({ name }: { name: keyof typeof strokes }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={strokes[name]} />
    </svg>
  );
}
