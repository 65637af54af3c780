/** What something was when it was measured; of a commit only as much as tells it from others, the whole on hover. */
export function Version({ name, text }: { name: string; text: string }) {
  const [, commit, rest] = name === "commit" ? (text.match(/^([0-9a-f]{40})(.*)$/) ?? []) : [];
  if (commit === undefined) return text;
  return <span title={text}>{`${commit.slice(0, 12)}${rest}`}</span>;
}
