import * as Menu from '@radix-ui/react-dropdown-menu';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useLive } from './live/live';
import { useSession } from './session/session';
import { Announcer } from './ui/announce';

interface Item {
  href: string;
  text: string;
  needs?: string;
  platform?: boolean;
}

const SECTIONS: { title: string; items: Item[] }[] = [
  {
    title: 'Work',
    items: [
      { href: '/', text: 'Home' },
      { href: '/catalog', text: 'Catalog' },
      { href: '/workloads', text: 'Workloads', needs: 'apps.instance.read' },
      { href: '/allocations', text: 'Allocations', needs: 'allocations.read' },
    ],
  },
  {
    title: 'Project',
    items: [
      { href: '/artifacts', text: 'Artifacts', needs: 'apps.artifacts.read' },
      { href: '/entitlements', text: 'Entitlements', needs: 'apps.entitlements.read' },
      { href: '/service-accounts', text: 'Service accounts', needs: 'service_accounts.read' },
      { href: '/audit', text: 'Audit', needs: 'audit.read' },
    ],
  },
  { title: 'Platform', items: [{ href: '/nodes', text: 'Nodes', needs: 'nodes.read', platform: true }] },
];

function isHere(location: string, href: string): boolean {
  if (href === '/catalog' && location.startsWith('/launch/')) return true;
  return href === '/' ? location === '/' : location === href || location.startsWith(`${href}/`);
}

export function Layout({ children }: { children: ReactNode }) {
  const [location] = useLocation();
  const [open, setOpen] = useState(false);
  const live = useLive();
  const { signOutProblem } = useSession();
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => setOpen(false), [location]);
  useEffect(() => {
    if (!open) return;
    const close = (event: KeyboardEvent) => {
      // What lies above (a menu, a dialog) has the first claim on the key.
      if (event.key !== 'Escape' || event.defaultPrevented) return;
      setOpen(false);
      button.current?.focus();
    };
    document.addEventListener('keydown', close);
    return () => document.removeEventListener('keydown', close);
  }, [open]);
  return (
    <div className="frame">
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <header className="top">
        <button ref={button} type="button" className="button quiet menu-button" aria-expanded={open} aria-controls="navigation" onClick={() => setOpen(!open)}>
          <span aria-hidden="true">☰</span>
          <span className="sr-only">Menu</span>
        </button>
        <Link href="/" className="brand" aria-label="GPUaaS, home">
          <img src="/favicon.svg" alt="" width="24" height="24" />
          <span>GPUaaS</span>
        </Link>
        <ProjectSwitcher />
        <span className="grow" />
        <AccountMenu />
      </header>
      <Navigation open={open} />
      <main id="main" tabIndex={-1}>
        {signOutProblem && (
          <p className="stale" role="alert">
            You are still signed in. {signOutProblem} Try again before you leave this screen.
          </p>
        )}
        {live === 'down' && (
          <p className="stale" role="status">
            The connection to the platform is interrupted; what you see may be a little old. Reconnecting…
          </p>
        )}
        {children}
      </main>
      <Announcer />
    </div>
  );
}

function Navigation({ open }: { open: boolean }) {
  const [location] = useLocation();
  const { can, canOnPlatform } = useSession();
  return (
    <nav id="navigation" className={open ? 'side open' : 'side'} aria-label="Main">
      {SECTIONS.map((section) => {
        const items = section.items.filter((item) => !item.needs || (item.platform ? canOnPlatform(item.needs) : can(item.needs)));
        if (items.length === 0) return null;
        return (
          <div key={section.title}>
            <p className="side-title" id={`nav-${section.title}`}>
              {section.title}
            </p>
            <ul aria-labelledby={`nav-${section.title}`}>
              {items.map((item) => (
                <li key={item.href}>
                  <Link href={item.href} aria-current={isHere(location, item.href) ? 'page' : undefined}>
                    {item.text}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}

function ProjectSwitcher() {
  const { project, projects, choose } = useSession();
  const [location, navigate] = useLocation();
  const change = (id: string) => {
    choose(id);
    // What is open belongs to the project one leaves.
    if (location.startsWith('/workloads/instance/')) navigate('/workloads');
    else if (location.startsWith('/launch/')) navigate('/catalog');
  };
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger className="button quiet switcher" aria-label={`Project: ${project.display_name}. Change project`}>
        <span className="switcher-name">{project.display_name}</span>
        <span aria-hidden="true">▾</span>
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Content className="menu" align="start" sideOffset={4}>
          <Menu.Label className="menu-label">Projects</Menu.Label>
          <Menu.RadioGroup value={project.id} onValueChange={change}>
            {projects.map((one) => (
              <Menu.RadioItem key={one.id} value={one.id} className="menu-item" textValue={one.display_name}>
                <span className="menu-mark">
                  <Menu.ItemIndicator>✓</Menu.ItemIndicator>
                </span>
                <span>
                  {one.display_name}
                  <span className="muted small block">{one.slug}</span>
                </span>
              </Menu.RadioItem>
            ))}
          </Menu.RadioGroup>
        </Menu.Content>
      </Menu.Portal>
    </Menu.Root>
  );
}

function AccountMenu() {
  const { who, signOut } = useSession();
  const [, navigate] = useLocation();
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger className="button quiet account" aria-label={`Account of ${who.display_name}`}>
        <span className="avatar" aria-hidden="true">
          {who.display_name.slice(0, 1).toUpperCase()}
        </span>
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Content className="menu" align="end" sideOffset={4}>
          <Menu.Label className="menu-label">
            {who.display_name}
            <span className="muted small block">{who.name}</span>
          </Menu.Label>
          <Menu.Separator className="menu-line" />
          <Menu.Item className="menu-item" onSelect={() => navigate('/tokens')}>
            Personal tokens
          </Menu.Item>
          <Menu.Item className="menu-item" onSelect={() => location.assign('/api/docs')}>
            API reference
          </Menu.Item>
          <Menu.Separator className="menu-line" />
          <Menu.Item className="menu-item" onSelect={() => void signOut()}>
            Sign out
          </Menu.Item>
        </Menu.Content>
      </Menu.Portal>
    </Menu.Root>
  );
}
