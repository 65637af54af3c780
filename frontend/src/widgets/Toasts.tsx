import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useRef, useState } from "react";
import { Button } from "./Button";

export interface Toast {
  text: string;
  action?: { label: string; run: () => void };
  /** How long it stays. */
  ms?: number;
}

interface Shown extends Toast {
  id: number;
}

const ToastContext = createContext<(toast: Toast) => void>(() => {});

/** Says something for a few seconds, with one thing that can be done about it. */
export function useToast(): (toast: Toast) => void {
  return useContext(ToastContext);
}

export function ToastProvider({ children }: { children: ReactNode }) {
  const [shown, setShown] = useState<Shown[]>([]);
  const nextId = useRef(1);
  const close = useCallback((id: number) => setShown((now) => now.filter((toast) => toast.id !== id)), []);
  const show = useCallback((toast: Toast) => {
    const id = nextId.current++;
    setShown((now) => [...now.slice(-2), { ...toast, id }]);
  }, []);
  const list = useMemo(
    () => shown.map((toast) => <ToastView key={toast.id} toast={toast} onClose={close} />),
    [shown, close],
  );
  return (
    <ToastContext.Provider value={show}>
      {children}
      <div className="toasts" role="status">
        {list}
      </div>
    </ToastContext.Provider>
  );
}

function ToastView({ toast, onClose }: { toast: Shown; onClose: (id: number) => void }) {
  const { id, ms = 5000 } = toast;
  useEffect(() => {
    const timer = setTimeout(() => onClose(id), ms);
    return () => clearTimeout(timer);
  }, [id, ms, onClose]);
  return (
    <div className="toast">
      <span className="grow">{toast.text}</span>
      {toast.action && (
        <Button
          small
          onClick={() => {
            toast.action?.run();
            onClose(id);
          }}
        >
          {toast.action.label}
        </Button>
      )}
      <Button small look="quiet" icon="close" aria-label="Dismiss" onClick={() => onClose(id)} />
    </div>
  );
}
