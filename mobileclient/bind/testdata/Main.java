import bind.APIError;
import bind.Bind;
import bind.Call;
import bind.Client;
import bind.Options;
import bind.Standing;
import bind.Task; // example:line
import bind.TaskChange; // example:line
import bind.TaskDraft; // example:line
import bind.Token;
import bind.TokenSource;

/** Uses the bound client as an app would, against a running server: Main URL TOKEN. */
public final class Main {
    private static int failures;
    private static int asked;

    public static void main(String[] args) throws Exception {
        Client client = clientOf(args[0], () -> {
            asked++;
            return Bind.newToken(args[1]);
        });
        calls(client);
        refusals(client);
        failures(args[0]);
        System.out.println(failures == 0 ? "bind: all kept" : "bind: " + failures + " broken");
        System.exit(failures == 0 ? 0 : 1);
    }

    private interface Source {
        Token token() throws Exception;
    }

    private static Client clientOf(String url, Source source) throws Exception {
        Options options = Bind.newOptions(url);
        options.setUserAgent("bind-check");
        options.setTokenSource(new TokenSource() {
            @Override
            public Token token() throws Exception {
                return source.token();
            }
        });
        return Bind.newClient(options);
    }

    private static void calls(Client client) throws Exception {
        check("a call answers", !client.me(null).getID().isEmpty());
        check("the token source was asked once", asked == 1);
        tasks(client); // example:line
    }

    // example:begin
    private static void tasks(Client client) throws Exception {
        TaskDraft draft = Bind.newTaskDraft("Buy milk");
        draft.addTag("home");
        Task task = client.createTask(null, draft);
        check("a task is created", task.getTitle().equals("Buy milk") && task.tagAt(0).equals("home"));
        TaskChange change = Bind.newTaskChange();
        change.setDone(true);
        check("and changed", client.updateTask(null, task.getID(), change).getDone());
        check("and listed", client.tasks(null, null).len() > 0);
        check("and exported", new String(client.export(null), "UTF-8").contains("Buy milk"));
        client.deleteTask(null, task.getID());
        try {
            client.task(null, task.getID());
            check("a deleted task is gone", false);
        } catch (Exception e) {
            APIError details = Bind.errorDetails(e);
            check("a deleted task is gone", details != null && details.getStatus() == 404 && details.getCode().equals("NOT_FOUND") && !details.getLocal());
        }
    }

    // example:end

    /** The budget of all requests lets a hundred of a minute pass. */
    private static void refusals(Client client) throws Exception {
        APIError details = null;
        for (int i = 0; i < 200 && details == null; i++) {
            try {
                client.me(null);
            } catch (Exception e) {
                details = Bind.errorDetails(e);
            }
        }
        check("a local refusal has code and seconds", details != null && details.getLocal() && details.getRateLimited()
            && details.getCode().equals("RATE_LIMIT_EXCEEDED") && details.getRetryAfterSeconds() >= 1 && details.budgetCount() > 0);
        Standing standing = client.limits("me.get");
        check("and is foreseen", !standing.getAllowed() && standing.getRetryAfterMillis() > 0);
    }

    private static void failures(String url) throws Exception {
        Client faulty = clientOf(url, () -> {
            throw new Exception("the keychain is locked");
        });
        try {
            faulty.me(null);
            check("an exception of the app comes back", false);
        } catch (Exception e) {
            check("an exception of the app comes back", e.getMessage().contains("the keychain is locked") && Bind.errorDetails(e) == null);
        }
        Call call = Bind.newCall();
        call.cancel();
        try {
            clientOf(url, () -> Bind.newToken("x")).me(call);
            check("a cancelled call ends", false);
        } catch (Exception e) {
            check("a cancelled call ends", e.getMessage().contains("cancel"));
        }
        // example:begin
        try {
            faulty.createTask(null, null);
            check("a null is an exception", false);
        } catch (Exception e) {
            check("a null is an exception", e.getMessage().contains("internal fault"));
        }
        // example:end
    }

    private static void check(String what, boolean kept) {
        System.out.println((kept ? "kept    " : "BROKEN  ") + what);
        if (!kept) {
            failures++;
        }
    }
}
