// What there is to see of tasks.
import type { Page } from 'playwright-core';
import { call, refusing, type Scene } from './scene';
import { goTo } from './stage';

const text = 'Call the dentist tomorrow at 9 #health !high\nBuy milk\nWater the plants on Friday #home';

async function save(page: Page): Promise<void> {
  await page.getByLabel('What is to be done?').fill(text);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: /^Save \d tasks$/ }).click();
  await page.getByRole('button', { name: /^Save \d tasks$/ }).waitFor({ state: 'detached' });
}

export const taskScenes: Scene[] = [
  {
    name: 'tasks',
    path: '/',
    person: 'Carol Carter',
    open: async (page) => {
      await goTo(page, '/');
      await save(page);
      await page.getByRole('checkbox').first().waitFor();
    },
  },
  {
    name: 'drafts',
    path: '/',
    person: 'Carol Carter',
    open: async (page) => {
      await goTo(page, '/');
      await page.getByLabel('What is to be done?').fill(text);
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Save 3 tasks' }).waitFor();
    },
  },
  {
    name: 'drafts saved in part',
    path: '/',
    person: 'Carol Carter',
    open: async (page) => {
      await goTo(page, '/');
      await page.getByLabel('What is to be done?').fill(text);
      await page.keyboard.press('Enter');
      await refusing(page, { path: 'tasks', budget: 'tasks.write', after: 1 }, async () => {
        await page.getByRole('button', { name: 'Save 3 tasks' }).click();
        await page.getByRole('button', { name: /^Save in/ }).waitFor();
        await page.getByText(/nothing can be ticked/).waitFor();
      });
    },
  },
  {
    name: 'report',
    path: '/',
    person: 'Carol Carter',
    open: async (page) => {
      await goTo(page, '/');
      await page
        .getByRole('button', { name: /^Report / })
        .first()
        .click();
      await page.getByRole('dialog').waitFor();
    },
  },
  {
    name: 'reports',
    path: '/admin/reports',
    person: 'Root',
    open: async (page) => {
      await goTo(page, '/admin/reports');
      const task = await call<{ id: string }>(page, 'POST', 'tasks', { title: 'Get rich with these three tricks' });
      const reason = 'This is advertising, and no task of ours.\nThe same was posted twice last week.';
      await call(page, 'POST', 'reports', { taskId: task.id, reason });
      await page.reload();
      await page.getByText('This is advertising').first().waitFor();
    },
  },
];
