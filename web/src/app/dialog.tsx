import { Dialog as Base } from '@base-ui/react/dialog';
import type { ReactNode } from 'react';
import './dialog.css';

interface Props {
  title: string;
  /** What it is for, in a sentence. */
  description: ReactNode;
  onClose: () => void;
  children: ReactNode;
}

/** A question in front of the page: it keeps the focus until it is answered or left, and then gives it back. */
export function Dialog({ title, description, onClose, children }: Props) {
  return (
    <Base.Root open onOpenChange={(open) => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="backdrop" />
        <Base.Popup className="dialog">
          <Base.Title className="dialog-title">{title}</Base.Title>
          <Base.Description className="quiet">{description}</Base.Description>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

/** The way out of a dialog, beside what it does. */
export function CancelButton() {
  return <Base.Close className="button">Cancel</Base.Close>;
}
