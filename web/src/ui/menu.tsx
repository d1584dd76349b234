import * as Menu from '@radix-ui/react-dropdown-menu';

/** What can be done with one row of a table, behind one button. */
export function RowMenu({ label, items }: { label: string; items: { text: string; act: () => void }[] }) {
  if (items.length === 0) return null;
  return (
    <div className="row">
      <Menu.Root modal={false}>
        <Menu.Trigger className="button quiet" aria-label={label}>
          <span aria-hidden="true">⋯</span>
        </Menu.Trigger>
        <Menu.Portal>
          <Menu.Content className="menu" align="end" sideOffset={4}>
            {items.map((item) => (
              <Menu.Item key={item.text} className="menu-item" onSelect={item.act}>
                {item.text}
              </Menu.Item>
            ))}
          </Menu.Content>
        </Menu.Portal>
      </Menu.Root>
    </div>
  );
}
