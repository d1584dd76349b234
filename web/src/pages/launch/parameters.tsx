/**
 * The parameters of an app, drawn by RJSF from the resolved form. Nothing is checked here: the server says what is wrong
 * with the values so far, and its words are shown at the field they are about. (A validator in the browser would compile
 * code at run time, which the page's policy refuses.)
 */
import Form from '@rjsf/core';
import type {
  ErrorSchema,
  FieldTemplateProps,
  ObjectFieldTemplateProps,
  RJSFSchema,
  UiSchema,
  ValidatorType,
  WidgetProps,
} from '@rjsf/utils';
import { Fragment, type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import type { FieldProblem } from '../../api/error';
import type { DefaultSource } from '../../api/schema';
import { extraErrors, reasonsToOpen, safeHints } from './hints';
import { NumberInput } from './number';

type Values = Record<string, unknown>;

/** It finds nothing: see above. */
const silent: ValidatorType = {
  validateFormData: () => ({ errors: [], errorSchema: {} }),
  toErrorList: () => [],
  isValid: () => true,
  rawValidation: () => ({ errors: [] }),
  reset: () => {},
};

interface Props {
  schema: Values;
  hints: Values;
  /** Who set the defaults, where it is known. */
  sources: Record<string, DefaultSource> | undefined;
  values: Values;
  /** Those of the values that are no defaults. */
  chosen: Values;
  problems: FieldProblem[];
  onChange: (values: Values) => void;
}

export default function Parameters({ schema, hints, sources, values, chosen, problems, onChange }: Props) {
  const uiSchema = useMemo(() => safeHints(schema, hints, sources) as UiSchema, [schema, hints, sources]);
  const errors = useMemo(() => extraErrors(problems) as ErrorSchema, [problems]);
  return (
    <Form
      tagName="div"
      idPrefix="parameter"
      schema={schema as RJSFSchema}
      uiSchema={uiSchema}
      formData={values}
      formContext={{ chosen }}
      extraErrors={errors}
      validator={silent}
      widgets={WIDGETS}
      templates={TEMPLATES}
      showErrorList={false}
      noHtml5Validate
      onChange={({ formData }) => onChange((formData ?? {}) as Values)}
    >
      {' '}
    </Form>
  );
}

// --- widgets: the plain elements, tied to their label, help and problem by id -------------------------------------------

function described(props: WidgetProps) {
  return {
    'aria-describedby': `${props.id}-about`,
    'aria-invalid': (props.rawErrors?.length ?? 0) > 0 ? (true as const) : undefined,
  };
}

function TextWidget(props: WidgetProps) {
  if (props.schema.type === 'integer' || props.schema.type === 'number') return <NumberWidget {...props} />;
  return (
    <input
      id={props.id}
      {...described(props)}
      type="text"
      placeholder={props.placeholder}
      readOnly={props.readonly}
      disabled={props.disabled}
      autoComplete="off"
      spellCheck={false}
      value={props.value === undefined || props.value === null ? '' : String(props.value)}
      onChange={(event) => props.onChange(event.target.value)}
    />
  );
}

function NumberWidget(props: WidgetProps) {
  return (
    <NumberInput
      id={props.id}
      {...described(props)}
      step={props.schema.type === 'integer' ? 1 : 'any'}
      min={props.schema.minimum}
      max={props.schema.maximum}
      {...(props.placeholder ? { placeholder: props.placeholder } : {})}
      readOnly={props.readonly}
      disabled={props.disabled}
      value={typeof props.value === 'number' ? props.value : undefined}
      choose={props.onChange}
    />
  );
}

function RangeWidget(props: WidgetProps) {
  return (
    <span className="range">
      <input
        id={props.id}
        {...described(props)}
        type="range"
        min={props.schema.minimum}
        max={props.schema.maximum}
        step={props.schema.type === 'integer' ? 1 : 'any'}
        disabled={props.disabled || props.readonly}
        value={Number(props.value ?? props.schema.minimum ?? 0)}
        onChange={(event) => props.onChange(Number(event.target.value))}
      />
      <output htmlFor={props.id}>{String(props.value ?? '')}</output>
    </span>
  );
}

function TextareaWidget(props: WidgetProps) {
  return (
    <textarea
      id={props.id}
      {...described(props)}
      rows={4}
      placeholder={props.placeholder}
      readOnly={props.readonly}
      disabled={props.disabled}
      value={String(props.value ?? '')}
      onChange={(event) => props.onChange(event.target.value)}
    />
  );
}

/** A list, one entry per line. */
function LinesWidget(props: WidgetProps) {
  const items = props.schema.items as { type?: string } | undefined;
  const numeric = items?.type === 'integer' || items?.type === 'number';
  const shown = Array.isArray(props.value) ? props.value.map(String).join('\n') : '';
  return (
    <textarea
      id={props.id}
      {...described(props)}
      rows={3}
      placeholder={props.placeholder ?? 'One per line'}
      readOnly={props.readonly}
      disabled={props.disabled}
      defaultValue={shown}
      onChange={(event) => {
        const lines = event.target.value.split('\n').map((line) => line.trim()).filter(Boolean);
        props.onChange(numeric ? lines.map(Number) : lines);
      }}
    />
  );
}

function SelectWidget(props: WidgetProps) {
  const options = props.options.enumOptions ?? [];
  const index = options.findIndex((option) => option.value === props.value);
  return (
    <select
      id={props.id}
      {...described(props)}
      disabled={props.disabled || props.readonly}
      value={index < 0 ? '' : String(index)}
      onChange={(event) => props.onChange(event.target.value === '' ? undefined : options[Number(event.target.value)]?.value)}
    >
      {(index < 0 || !props.required) && <option value="">Choose…</option>}
      {options.map((option, position) => (
        <option key={String(option.value)} value={position}>
          {option.label}
        </option>
      ))}
    </select>
  );
}

function RadioWidget(props: WidgetProps) {
  return (
    <span className="stack" role="radiogroup" aria-labelledby={`${props.id}-label`} {...described(props)}>
      {(props.options.enumOptions ?? []).map((option, position) => (
        <label key={String(option.value)} className="check">
          <input
            type="radio"
            id={position === 0 ? props.id : undefined}
            name={props.id}
            checked={option.value === props.value}
            disabled={props.disabled || props.readonly}
            onChange={() => props.onChange(option.value)}
          />
          {option.label}
        </label>
      ))}
    </span>
  );
}

function CheckboxWidget(props: WidgetProps) {
  return (
    <span className="check">
      <input
        id={props.id}
        {...described(props)}
        type="checkbox"
        disabled={props.disabled || props.readonly}
        checked={props.value === true}
        onChange={(event) => props.onChange(event.target.checked)}
      />
      <label htmlFor={props.id}>{props.label}</label>
    </span>
  );
}

const WIDGETS = {
  TextWidget,
  TextareaWidget,
  SelectWidget,
  RadioWidget,
  CheckboxWidget,
  RangeWidget,
  UpDownWidget: TextWidget,
  lines: LinesWidget,
  tags: LinesWidget,
  secret_picker: TextWidget,
};

// --- templates ----------------------------------------------------------------------------------------------------------

function FieldTemplate(props: FieldTemplateProps) {
  if (props.hidden) return <div hidden>{props.children}</div>;
  if (props.schema.type === 'object') return <>{props.children}</>;
  const isBoolean = props.schema.type === 'boolean' && props.uiSchema?.['ui:widget'] !== 'select' && props.uiSchema?.['ui:widget'] !== 'radio';
  const warning = props.uiSchema?.['ui:warning'] as string | undefined;
  const source = props.uiSchema?.['ui:source'] as DefaultSource | undefined;
  const problems = props.rawErrors ?? [];
  return (
    <div className="field">
      {!isBoolean && (
        <label htmlFor={props.id} id={`${props.id}-label`}>
          {props.label}
          {props.required && <span className="muted"> (required)</span>}
        </label>
      )}
      {props.children}
      <div id={`${props.id}-about`}>
        {props.rawDescription && <p className="hint">{props.rawDescription}</p>}
        {typeof props.rawHelp === 'string' && <p className="hint">{props.rawHelp}</p>}
        {source && <p className="hint">{source === 'project' ? 'The default is set by the project.' : 'The default is set by the platform.'}</p>}
        {warning?.split('\n').map((line) => (
          <p key={line} className="hint warning">
            {line}
          </p>
        ))}
        {problems.map((problem) => (
          <p key={problem} className="field-problem">
            {problem}
          </p>
        ))}
      </div>
    </div>
  );
}

function ObjectFieldTemplate(props: ObjectFieldTemplateProps) {
  const groups = new Map<string, ObjectFieldTemplateProps['properties']>();
  // A group of which every field is hidden is not shown; the values stay in the form all the same.
  const hidden = props.properties.filter((property) => property.hidden);
  for (const property of props.properties.filter((property) => !property.hidden)) {
    const hints = props.uiSchema?.[property.name] as UiSchema | undefined;
    const group = String(hints?.['ui:group'] ?? '');
    groups.set(group, [...(groups.get(group) ?? []), property]);
  }
  const collapsed = (props.uiSchema?.['ui:collapsed'] ?? []) as string[];
  const { chosen } = props.formContext as { chosen: Values };
  return (
    <>
      {[...groups].map(([title, members]) => {
        const fields = <div className="fields">{members.map((property) => property.content)}</div>;
        if (title === '') return <Fragment key="">{fields}</Fragment>;
        if (collapsed.includes(title)) {
          const names = members.map((property) => property.name);
          return (
            <ClosedGroup key={title} title={title} reasons={reasonsToOpen(names, props.uiSchema ?? {}, props.errorSchema ?? {}, chosen)}>
              {fields}
            </ClosedGroup>
          );
        }
        return (
          <fieldset key={title}>
            <legend>{title}</legend>
            {fields}
          </fieldset>
        );
      })}
      {hidden.map((property) => property.content)}
    </>
  );
}

/** Closed at first, unless there is a reason to look. It opens for each new one, and whoever has seen it may close it again. */
function ClosedGroup({ title, reasons, children }: { title: string; reasons: string[]; children: ReactNode }) {
  const [open, setOpen] = useState(reasons.length > 0);
  const known = useRef(reasons);
  useEffect(() => {
    if (reasons.some((reason) => !known.current.includes(reason))) setOpen(true);
    known.current = reasons;
  }, [reasons]);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {children}
    </details>
  );
}

const TEMPLATES = { FieldTemplate, ObjectFieldTemplate };
