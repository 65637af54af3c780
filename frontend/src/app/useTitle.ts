import { useEffect } from "react";
import { isEditorPath } from "./places";

const NAMES: Record<string, string> = {
  masks: "Saved masks",
  diff: "Diff",
  runs: "Runs",
  compare: "Compare",
  environment: "Environment",
};

/** The title of the browser's tab: the mask that is edited, or the page. */
export function useTitle(location: string, program: string | undefined): void {
  useEffect(() => {
    const [, first = "", second] = location.split("/");
    const page = first === "runs" && second ? `Run ${second}` : isEditorPath(location) ? program : NAMES[first];
    document.title = page ? `${page} – CompileMask Studio` : "CompileMask Studio";
  }, [location, program]);
}
