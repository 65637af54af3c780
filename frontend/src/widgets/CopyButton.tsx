import { useEffect, useState } from "react";
import { Button } from "./Button";
import { copyText } from "./copyText";

interface CopyButtonProps {
  label: string;
  text: () => string | Promise<string>;
  done?: string;
  look?: "plain" | "quiet";
  icon?: "copy" | "link";
  iconOnly?: boolean;
  small?: boolean;
}

/** Copies a text and says so for a moment. */
export function CopyButton({
  label,
  text,
  done = "Copied",
  look = "plain",
  icon = "copy",
  iconOnly,
  small,
}: CopyButtonProps) {
  const [state, setState] = useState<"idle" | "done" | "failed">("idle");
  useEffect(() => {
    if (state === "idle") return;
    const timer = setTimeout(() => setState("idle"), 1800);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async () => {
    try {
      await copyText(await text());
      setState("done");
    } catch {
      setState("failed");
    }
  };
  const words = state === "done" ? done : state === "failed" ? "Copying was refused" : label;
  return (
    <>
      <Button
        look={look}
        small={small}
        icon={state === "done" ? "check" : icon}
        onClick={copy}
        aria-label={iconOnly ? label : undefined}
      >
        {iconOnly ? undefined : words}
      </Button>
      <span className="visually-hidden" role="status">
        {state === "idle" ? "" : words}
      </span>
    </>
  );
}
