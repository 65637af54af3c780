import type { Run } from "../api/types";
import { Icon } from "./Icon";

/** Where a run stands: its verdict once there is one, else what it is doing. */
export function RunBadge({ run }: { run: Pick<Run, "state" | "verdict" | "stage"> }) {
  const { look, icon, text } = badgeOf(run);
  return (
    <span className={`badge ${look}`}>
      <Icon name={icon} size={12} className={run.state === "running" ? "spin" : undefined} />
      {text}
    </span>
  );
}

function badgeOf({ state, verdict, stage }: Pick<Run, "state" | "verdict" | "stage">) {
  if (state === "running") return { look: "live", icon: "refresh", text: stage ?? "running" } as const;
  if (state === "queued") return { look: "", icon: "clock", text: "queued" } as const;
  switch (verdict) {
    case "passed":
      return { look: "good", icon: "check", text: "passed" } as const;
    case "failed":
      return { look: "bad", icon: "close", text: "wrong result" } as const;
    case "error":
      return { look: "bad", icon: "error", text: "error" } as const;
    case "cancelled":
      return { look: "", icon: "stop", text: "cancelled" } as const;
    case "pending":
      return { look: "", icon: "clock", text: "pending" } as const;
  }
}
