import { closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, indentUnit } from "@codemirror/language";
import { lintGutter, lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  placeholder,
} from "@codemirror/view";
import { type Ref, useEffect, useImperativeHandle, useRef } from "react";
import type { Diagnostic, Fix, Span, Word } from "../../api/types";
import { applyFix, showDiagnostics } from "./diagnostics";
import { editorTheme } from "./editorTheme";
import { lightLines, litLines } from "./litLines";
import { pointedPlace } from "./pointedPlace";
import { regionLanguage } from "./regionLanguage";

export interface CodeEditorHandle {
  /** Select a part of the text and show it. */
  goTo: (start: number, stop: number) => void;
  applyFix: (fix: Fix) => void;
  /** Light the lines of these parts of the text, and no others. */
  light: (spans: readonly Span[]) => void;
  focus: () => void;
}

interface CodeEditorProps {
  source: string;
  words: readonly Word[];
  /** Null while the text is newer than what the server has seen: the marks then move with the text. */
  diagnostics: readonly Diagnostic[] | null;
  onChange: (source: string) => void;
  onCompile: () => void;
  onRun: () => void;
  onPointed: (offset: number | null) => void;
  ref?: Ref<CodeEditorHandle>;
}

const language = new Compartment();

function extensions(
  handlers: { current: Pick<CodeEditorProps, "onChange" | "onCompile" | "onRun" | "onPointed"> },
  words: readonly Word[],
): Extension[] {
  const run = (what: "onCompile" | "onRun") => () => {
    handlers.current[what]();
    return true;
  };
  return [
    lineNumbers(),
    highlightActiveLineGutter(),
    highlightActiveLine(),
    highlightSpecialChars(),
    highlightSelectionMatches(),
    history(),
    drawSelection(),
    indentUnit.of("  "),
    EditorView.lineWrapping,
    bracketMatching(),
    closeBrackets(),
    lintGutter(),
    litLines,
    pointedPlace((offset) => handlers.current.onPointed(offset)),
    placeholder("mask causal(n: int)\ntokens { S: n }\nS sees S causal"),
    language.of(regionLanguage(words)),
    editorTheme,
    EditorView.contentAttributes.of({ "aria-label": "Program", spellcheck: "false", tabindex: "0" }),
    // Tab is left to the browser, so that the keyboard can leave the editor.
    keymap.of([
      { key: "Mod-Enter", run: run("onCompile") },
      { key: "Mod-Shift-Enter", run: run("onRun") },
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...lintKeymap,
      ...searchKeymap,
      ...historyKeymap,
      ...defaultKeymap,
    ]),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) handlers.current.onChange(update.state.doc.toString());
    }),
  ];
}

export function CodeEditor({
  source,
  words,
  diagnostics,
  onChange,
  onCompile,
  onRun,
  onPointed,
  ref,
}: CodeEditorProps) {
  const holder = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const handlers = useRef({ onChange, onCompile, onRun, onPointed });
  handlers.current = { onChange, onCompile, onRun, onPointed };
  const first = useRef({ source, words });

  useEffect(() => {
    if (!holder.current) return;
    const state = EditorState.create({
      doc: first.current.source,
      extensions: extensions(handlers, first.current.words),
    });
    const created = new EditorView({ state, parent: holder.current });
    view.current = created;
    return () => {
      created.destroy();
      view.current = null;
    };
  }, []);

  useEffect(() => view.current?.dispatch({ effects: language.reconfigure(regionLanguage(words)) }), [words]);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const now = editor.state.doc.toString();
    if (now !== source) editor.dispatch({ changes: { from: 0, to: now.length, insert: source } });
  }, [source]);

  useEffect(() => {
    if (view.current && diagnostics) showDiagnostics(view.current, diagnostics);
  }, [diagnostics]);

  useImperativeHandle(ref, () => ({
    goTo: (start, stop) => {
      const editor = view.current;
      if (!editor) return;
      const length = editor.state.doc.length;
      editor.dispatch({
        selection: { anchor: Math.min(start, length), head: Math.min(stop, length) },
        scrollIntoView: true,
      });
      editor.focus();
    },
    applyFix: (fix) => view.current && applyFix(view.current, fix),
    light: (spans) => view.current && lightLines(view.current, spans),
    focus: () => view.current?.focus(),
  }));

  return <div className="code-editor" ref={holder} data-testid="program" />;
}
