import scriptUrl from "./plotlyScript?worker&url";

/** The text of a script that defines `Plotly`. */
export async function plotlyText(): Promise<string> {
  const response = await fetch(scriptUrl);
  if (!response.ok) throw new Error(`The charts' script could not be read (status ${response.status}).`);
  return response.text();
}
