/** The parts of a plan beyond its own lines: checks by name, what each component takes of the price, and the engines. */
import type { PlanCheck, PlannedEngine, Quote } from '../../api/schema';
import { Badge, Short } from '../../ui/basics';
import { cpus, mib, money, plural, words } from '../../ui/format';

export function Checks({ checks }: { checks: PlanCheck[] }) {
  return (
    <section aria-label="Checks">
      <h3>Checks</h3>
      <ul className="rows inset">
        {checks.map((one) => (
          <li key={one.name} className="row-link">
            <span className="row-main">
              <strong>{words(one.name)}</strong>
              <span className="muted small">{one.message}</span>
            </span>
            <Badge tone={one.passed ? 'good' : 'bad'}>{one.passed ? 'passed' : 'not passed'}</Badge>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function QuoteLines({ quote }: { quote: Quote }) {
  const { currency } = quote;
  return (
    <section aria-label="Price">
      <h3>Price</h3>
      <p>
        {currency == null || quote.allocation_micros_per_hour == null
          ? 'The allocation has no price. This launch takes of it:'
          : `The allocation costs ${money(quote.allocation_micros_per_hour, currency)} per hour, whether anything runs on it or not. This launch takes of it:`}
      </p>
      <ul className="rows inset">
        {quote.lines.map((one) => (
          <li key={`${one.addon ?? ''} ${one.component}`} className="row-link">
            <span className="row-main">
              <strong>{one.component}</strong>
              <span className="muted small">
                {[
                  one.addon ? `add-on ${one.addon}` : '',
                  one.gpu_count > 0 ? plural(one.gpu_count, 'GPU') : '',
                  cpus(one.cpu_millis),
                  mib(one.memory_mib),
                ]
                  .filter(Boolean)
                  .join(' · ')}
              </span>
            </span>
            {currency != null && one.share_micros_per_hour != null && <span className="nowrap">{money(one.share_micros_per_hour, currency)}</span>}
          </li>
        ))}
      </ul>
      <p className="hint">{quote.note}</p>
    </section>
  );
}

export function Engines({ engines }: { engines: PlannedEngine[] }) {
  return (
    <details>
      <summary>Engines that could run it</summary>
      <ul className="reasons">
        {engines.map((one) => (
          <li key={one.engine}>
            <span className="row">
              <strong>{words(one.engine)}</strong>
              <Badge tone={one.available && one.renders ? 'good' : 'neutral'}>
                {!one.renders ? 'cannot express it' : one.available ? 'runs it' : 'not on this platform yet'}
              </Badge>
              {one.digest && <Short text={one.digest} what={`the digest for ${words(one.engine)}`} />}
            </span>
            {one.gaps.length > 0 && (
              <ul>
                {one.gaps.map((gap) => (
                  <li key={gap.path + gap.code}>
                    {gap.severity === 'refuse' ? 'Refused: ' : 'Note: '}
                    {gap.message} <code>{gap.path}</code>
                  </li>
                ))}
              </ul>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}
