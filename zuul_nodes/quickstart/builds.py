"""Wait for the builds that a commit triggers."""

from zuul_nodes.quickstart.failure import Failure

TIMEOUT = 180


class Builds:
    """Waits for builds.

    :param API api: for queries about builds.
    :param Services services: watched while waiting.
    :param weblogs: the directory of the builds' published logs.
    """

    def __init__(self, api, services, weblogs):
        self.api = api
        self.services = services
        self.weblogs = weblogs

    def waitForStart(self, revision, job):
        """:param str revision: the hash of the commit.
        :param str job: the name of the job.
        :return: the build, as the REST API describes it."""
        return self.services.waitFor(
            lambda: self._lastAttempt(revision, job),
            f'the job {job} does not start', TIMEOUT, 'scheduler')

    def waitForEnd(self, revision, job):
        """Like waitForStart(), but wait for the result.

        :raises Failure: the result is not SUCCESS.
        """
        def ended():
            attempt = self._lastAttempt(revision, job)
            again = attempt['result'] in (None, 'RETRY')
            return None if again else attempt

        build = self.services.waitFor(
            ended, f'the job {job} does not end', TIMEOUT, 'executor')
        if build['result'] != 'SUCCESS':
            output = self.output(build)
            raise Failure(
                f'the result of the job {job} is {build["result"]}',
                output if output.exists()
                else self.services.logFile('executor'))
        return build

    def _lastAttempt(self, revision, job):
        # The API lists the newest build first.
        return next((build for build in self.api.builds(job_name=job)
                     if build['ref']['newrev'] == revision), None)

    def output(self, build):
        """:return: the file with the output of a build."""
        return self.weblogs / build['uuid'] / 'job-output.txt'

    def getPlaybookOutput(self, build):
        """:return: the output of the job's own playbook, a list of lines."""
        with open(self.output(build)) as output:
            lines = [line.rstrip().partition(' | ')[2] for line in output]
        begin, end = (
            next(number for number, line in enumerate(lines)
                 if line.startswith(mark))
            for mark in ('RUN START', 'RUN END'))
        return [line for line in lines[begin:end] if ' | ' in line]
