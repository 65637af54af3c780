/** Short names of the generated types. */

import type { components, paths } from "./generated/schema";

type Schemas = components["schemas"];

export type Assertion = Schemas["AssertionPublic"];
export type BatchPlace = Schemas["BatchPlace"];
export type CellExplanation = Schemas["CellExplanation"];
export type ColumnIntervals = Schemas["ColumnIntervals"];
export type CompileRequest = Schemas["CompileRequest"];
export type CompileResult = Schemas["CompileResult"];
export type ComparedRun = Schemas["ComparedRun"];
export type Comparison = Schemas["Comparison"];
export type Device = Schemas["DeviceInfo"];
export type Diagnostic = Schemas["DiagnosticPublic"];
export type CounterExample = Schemas["CounterExample"];
export type Environment = Schemas["Environment"];
export type ExplainRequest = Schemas["ExplainRequest"];
export type Fix = Schemas["FixPublic"];
export type Launch = Schemas["LaunchPublic"];
export type LaunchCreate = Schemas["LaunchCreate"];
export type Mask = Schemas["MaskPublic"];
export type MaskCost = Schemas["MaskCost"];
export type Parameter = Schemas["ParameterPublic"];
export type Preset = Schemas["PresetPublic"];
export type Program = Schemas["ProgramPublic"];
export type Provider = Schemas["ProviderInfo"];
export type QTile = Schemas["QTile"];
export type QTileSummary = Schemas["QTileSummary"];
export type QTileTable = Schemas["QTileTable"];
export type RegionSpan = Schemas["RegionSpanPublic"];
export type RowIntervals = Schemas["RowIntervals"];
export type RuleParts = Schemas["RuleParts"];
export type RulesRequest = Schemas["RulesRequest"];
export type Run = Schemas["RunPublic"];
export type RunPage = Schemas["RunPage"];
export type RunRow = Schemas["RunRow"];
export type RunTable = Schemas["RunTable"];
export type Shape = Schemas["Shape"];
export type Span = Schemas["SpanPublic"];
export type TileCounts = Schemas["TileCounts"];
export type Word = Schemas["Word"];

export type Values = Program["examples"][number]["values"];
export type Value = Values[string];
export type BlockSize = 16 | 32 | 64 | 128 | 256;
export type Dtype = Run["dtype"];
export type Verdict = Run["verdict"];
export type RunSort = NonNullable<NonNullable<paths["/api/runs"]["get"]["parameters"]["query"]>["sort"]>;
