/** Plotly reads a small HTML in labels: names from users must not. */
export function plotText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
