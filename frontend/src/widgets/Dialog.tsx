import { type ReactNode, useEffect, useId, useRef } from "react";
import { Button } from "./Button";
import { ScrollArea } from "./ScrollArea";

interface DialogProps {
  title: string;
  onClose: () => void;
  wide?: boolean;
  /** As high as the window allows, whatever is in it, so that it does not grow under the pointer. */
  tall?: boolean;
  /** Beside the title. */
  head?: ReactNode;
  foot?: ReactNode;
  children: ReactNode;
}

/** A modal window: the browser keeps the focus in it, Escape and a click beside it close it. */
export function Dialog({ title, onClose, wide, tall, head, foot, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    const opener = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a modal dialog; the click is the mouse's way
    <dialog
      ref={ref}
      className={["dialog", wide && "wide", tall && "tall"].filter(Boolean).join(" ")}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === ref.current && onClose()}
    >
      <header className="dialog-head">
        <h2 id={id}>{title}</h2>
        <div className="grow">{head}</div>
        <Button look="quiet" icon="close" aria-label="Close" onClick={onClose} />
      </header>
      <ScrollArea className="dialog-body" label={title}>
        {children}
      </ScrollArea>
      {foot && <footer className="dialog-foot">{foot}</footer>}
    </dialog>
  );
}
